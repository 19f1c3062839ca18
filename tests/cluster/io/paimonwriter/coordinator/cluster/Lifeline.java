package io.paimonwriter.coordinator.cluster;

import java.io.IOException;
import java.util.Arrays;

/**
 * Runs the main method of another class, and ends its JVM when standard input ends: when the JVM
 * that started this one is gone, by whatever death.
 */
public final class Lifeline {

    private Lifeline() {}

    /** The name of the class, then its arguments. */
    public static void main(String[] arguments) throws Exception {
        Thread watch = new Thread(Lifeline::endWithParent, "lifeline");
        watch.setDaemon(true);
        watch.start();
        String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
        Class.forName(arguments[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }

    private static void endWithParent() {
        try {
            while (System.in.read() >= 0) {
                // The parent writes nothing; only the end of its pipe matters.
            }
        } catch (IOException e) {
            // A broken pipe says the same.
        }
        Runtime.getRuntime().halt(1);
    }
}
