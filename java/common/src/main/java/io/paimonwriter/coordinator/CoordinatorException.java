package io.paimonwriter.coordinator;

/**
 * A failure of the coordinator or of a writer's conversation with it; its text says what happened
 * to which table, subtask, attempt and checkpoint, and what to do. The job's restart strategy
 * applies.
 */
public class CoordinatorException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public CoordinatorException(String message) {
        super(message);
    }

    public CoordinatorException(String message, Throwable cause) {
        super(message, cause);
    }
}
