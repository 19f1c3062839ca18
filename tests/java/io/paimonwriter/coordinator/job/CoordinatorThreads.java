package io.paimonwriter.coordinator.job;

import java.util.List;
import java.util.stream.Collectors;

/** The threads of all coordinators in this JVM, found by their names. */
final class CoordinatorThreads {

    private CoordinatorThreads() {}

    static List<Thread> alive() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("paimon-writer"))
                .collect(Collectors.toList());
    }

    static void awaitNone() {
        Await.until(
                "the threads of the coordinators have ended",
                () -> CoordinatorThreads.alive().isEmpty());
    }
}
