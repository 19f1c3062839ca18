package io.paimonwriter.coordinator.cluster;

import java.util.Map;

/** Who commits: what is compared. */
enum Sink {
    COMMITTER("Paimon's committer", Map.of()),
    /** Of Paimon 2.0. */
    PAIMONS_COORDINATOR("Paimon's coordinator", Map.of("sink.coordinator-commit.enabled", "true")),
    COORDINATOR(
            "Paimon Writer Coordinator",
            Map.of("sink.committer-coordinator-operator.enabled", "true"));

    final String title;

    /** Of the table. */
    final Map<String, String> options;

    Sink(String title, Map<String, String> options) {
        this.title = title;
        this.options = options;
    }
}
