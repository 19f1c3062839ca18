package io.paimonwriter.coordinator;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

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
            status = run(arguments, System.out, System.err);
        } catch (CoordinatorException e) {
            System.err.println(e.getMessage());
            status = UNREADABLE;
        }
        System.exit(status);
    }

    /** Returns the exit status; the text goes to one of the two. */
    private static int run(String[] arguments, PrintStream out, PrintStream err) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (String argument : arguments) {
            bytes.writeBytes(argument.getBytes(StandardCharsets.UTF_8));
            bytes.write(0);
        }
        byte[] answer = run(bytes.toByteArray());
        int status = answer[0];
        PrintStream stream = status == UNREADABLE ? err : out;
        stream.write(answer, 1, answer.length - 1);
        stream.flush();
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
