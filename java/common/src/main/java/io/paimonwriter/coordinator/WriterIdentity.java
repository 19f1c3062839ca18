package io.paimonwriter.coordinator;

import java.util.UUID;

/** Which writer it is: part of every event and request (h25), and of every error. */
final class WriterIdentity {

    final String tableName;
    final int subtask;
    final int attempt;
    final UUID incarnation;

    WriterIdentity(String tableName, int subtask, int attempt, UUID incarnation) {
        this.tableName = tableName;
        this.subtask = subtask;
        this.attempt = attempt;
        this.incarnation = incarnation;
    }

    @Override
    public String toString() {
        return String.format("table %s, subtask %d, attempt %d", tableName, subtask, attempt);
    }
}
