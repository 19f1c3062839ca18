package io.paimonwriter.coordinator;

import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * The command line of the jar: {@code java -cp JAR io.paimonwriter.coordinator.Pwc inspect PATH}.
 *
 * <p>It is not the jar's Main-Class: Flink, when it is started for one job and is not told the
 * job's class, takes the only jar in its folder that has one for the job, and refuses to choose
 * between two. Neither Flink nor Paimon need be on the class path.
 */
public final class Pwc {

    private static final int UNREADABLE = 2;

    private Pwc() {}

    public static void main(String[] arguments) {
        int status;
        try {
            NativeLibrary.load();
            status = inspect(arguments);
        } catch (CoordinatorException e) {
            status = failed(e.getMessage());
        } catch (IOException e) {
            status = failed("the output cannot be written: " + e.getMessage());
        } catch (RuntimeException | Error e) {
            // Java's own status would be 1, which says that something was read.
            status = failed(e.toString());
        }
        System.exit(status);
    }

    private static int failed(String message) {
        System.err.println("pwc: " + message);
        return UNREADABLE;
    }

    /** Returns the exit status; the text goes to the standard output or to the error output. */
    private static int inspect(String[] arguments) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (String argument : arguments) {
            bytes.writeBytes(argument.getBytes(StandardCharsets.UTF_8));
            bytes.write(0);
        }
        byte[] answer = run(bytes.toByteArray());
        int status = answer[0];
        // A PrintStream would keep to itself that a disk is full.
        FileDescriptor descriptor = status == UNREADABLE ? FileDescriptor.err : FileDescriptor.out;
        try {
            new FileOutputStream(descriptor).write(answer, 1, answer.length - 1);
        } catch (IOException e) {
            // Nobody is left to be told when the reader of a pipe has gone.
            if (!String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT).contains("broken pipe")) {
                throw e;
            }
        }
        return status;
    }

    /**
     * Runs the command.
     *
     * @param arguments in UTF-8, each with a zero byte behind it
     * @return the exit status and the text to print, in UTF-8
     */
    private static native byte[] run(byte[] arguments);
}
