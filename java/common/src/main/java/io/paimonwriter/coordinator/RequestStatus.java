package io.paimonwriter.coordinator;

/** How the coordinator answers a {@link WriterRequest}; the codes are those of the native side. */
enum RequestStatus {
    /** The entry is held whole. */
    HELD(1),
    /** The entry is not held whole: send it again and ask again. */
    RESEND(2),
    /** The asker is not the current attempt, or asks for something that cannot be. */
    REJECTED(3),
    /** The asker may finish. */
    GO(4),
    /** The asker must not finish yet: ask again. */
    WAIT(5),
    /**
     * The asker may finish; its rows were in the table already, and its files belong to no commit.
     */
    GO_UNUSED(6);

    private final int code;

    RequestStatus(int code) {
        this.code = code;
    }

    static RequestStatus ofCode(int code) {
        for (RequestStatus status : values()) {
            if (status.code == code) {
                return status;
            }
        }
        throw new IllegalArgumentException("there is no request status " + code);
    }
}
