package io.paimonwriter.coordinator;

import org.apache.flink.runtime.throwable.ThrowableAnnotation;
import org.apache.flink.runtime.throwable.ThrowableType;

/**
 * A failure that a restart cannot mend, such as files that are gone: the job ends FAILED at once
 * instead of restarting for ever (h15).
 */
@ThrowableAnnotation(ThrowableType.NonRecoverableError)
public final class NonRecoverableCoordinatorException extends CoordinatorException {

    private static final long serialVersionUID = 1L;

    public NonRecoverableCoordinatorException(String message) {
        super(message);
    }
}
