package io.paimonwriter.coordinator;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** A table of what was measured: both sides, their ratio, the goal. */
final class BenchReport {

    private static final double[] NOT_MEASURED = {Double.NaN};

    private final List<String> lines = new ArrayList<>();

    /**
     * Adds a row. The ratio is the median of the ratios of the rounds, of which each side has one
     * value; in brackets is the range from the lowest to the highest.
     *
     * @param goal the highest ratio that meets the goal; NaN if there is no goal
     */
    void add(String what, String unit, double[] ours, double[] theirs, double goal) {
        double[] ratios = ratios(ours, theirs);
        row(
                what,
                number(median(ours)) + " " + unit,
                number(median(theirs)) + " " + unit,
                ratio(ratios),
                Double.isNaN(goal) ? "" : "at most " + number(goal),
                Double.isNaN(goal) ? "" : median(ratios) <= goal ? "yes" : "**no**");
    }

    /** Adds what the last row would say if both sides were the same. */
    void noise(double[] again, double[] theirs) {
        row("… its noise: theirs to theirs", "", "", ratio(ratios(again, theirs)), "", "");
    }

    /** Adds a row of free texts. */
    void row(String... cells) {
        String line = "| " + String.join(" | ", cells) + " |";
        lines.add(line);
        System.out.println(line);
    }

    void print() {
        System.out.println();
        System.out.println("| what | ours | theirs | ratio | goal | met |");
        System.out.println("| --- | --- | --- | --- | --- | --- |");
        lines.forEach(System.out::println);
    }

    static double[] ratios(double[] ours, double[] theirs) {
        double[] ratios = new double[Math.min(ours.length, theirs.length)];
        Arrays.setAll(ratios, round -> ours[round] / theirs[round]);
        return ratios.length == 0 ? NOT_MEASURED : ratios;
    }

    static String ratio(double[] ratios) {
        double[] sorted = ratios.clone();
        Arrays.sort(sorted);
        return String.format(
                "%s (%s to %s)",
                number(median(sorted)), number(sorted[0]), number(sorted[sorted.length - 1]));
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    /** Three digits that count. */
    static String number(double value) {
        double size = Math.abs(value);
        return String.format(
                Locale.ROOT,
                size >= 100
                        ? "%,.0f"
                        : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : size >= 0.01 ? "%.3f" : "%.5f",
                value);
    }
}
