package io.paimonwriter.coordinator;

import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.table.api.ValidationException;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

import javax.annotation.Nullable;

/**
 * The pair of Flink and Paimon that this jar is for. Both change what the sink is made of from one
 * version to the next, and a jar of another pair would fail somewhere in the middle with a missing
 * class or method.
 */
final class SupportedPair {

    private static final String PAIMON_VERSION =
            "META-INF/maven/org.apache.paimon/paimon-core/pom.properties";

    private SupportedPair() {}

    /**
     * Compares this jar with what it runs on.
     *
     * @throws ValidationException if it is for another line of Flink or Paimon
     */
    static void check() {
        check(built(), EnvironmentInformation.getVersion(), paimonVersion());
    }

    /** The versions of this jar, and of what it runs on. */
    static String describe() {
        Properties built = built();
        return String.format(
                "Paimon Writer Coordinator %s for Flink %s and Paimon %s, on Flink %s and Paimon"
                        + " %s",
                built.getProperty("version"),
                built.getProperty("flink"),
                built.getProperty("paimon"),
                EnvironmentInformation.getVersion(),
                paimonVersion());
    }

    private static Properties built() {
        return read(SupportedPair.class.getResourceAsStream("pair.properties"));
    }

    /** Null if Paimon's jar does not tell. */
    @Nullable
    private static String paimonVersion() {
        // Where Paimon's classes come from decides, whichever jar that is.
        ClassLoader paimons = org.apache.paimon.Snapshot.class.getClassLoader();
        return read(paimons.getResourceAsStream(PAIMON_VERSION)).getProperty("version");
    }

    /**
     * @param paimon version of Paimon, null if its jar does not tell
     */
    static void check(Properties built, String flink, @Nullable String paimon) {
        String builtFlink = built.getProperty("flink");
        String builtPaimon = built.getProperty("paimon");
        boolean samePaimon = paimon == null || line(paimon).equals(line(builtPaimon));
        if (!line(flink).equals(line(builtFlink)) || !samePaimon) {
            throw new ValidationException(
                    String.format(
                            "This jar of Paimon Writer Coordinator is for Flink %s and Paimon %s;"
                                    + " found are Flink %s and Paimon %s. Take the jar whose name"
                                    + " has your two versions: there is one for each of %s.",
                            line(builtFlink),
                            line(builtPaimon),
                            flink,
                            paimon,
                            built.getProperty("pairs")));
        }
    }

    /** The first two numbers of a version. */
    private static String line(String version) {
        String[] numbers = version.split("[.-]");
        return numbers.length < 2 ? version : numbers[0] + "." + numbers[1];
    }

    private static Properties read(@Nullable InputStream in) {
        Properties properties = new Properties();
        if (in == null) {
            return properties;
        }
        try (in) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties;
    }
}
