package io.paimonwriter.coordinator.job;

import io.paimonwriter.coordinator.PaimonCoordinatedSinkBuilder;

import java.net.URL;

/** The built jar of the library, as a user would ship it with a job. */
public final class UserJar {

    private UserJar() {}

    public static URL url() {
        return PaimonCoordinatedSinkBuilder.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation();
    }
}
