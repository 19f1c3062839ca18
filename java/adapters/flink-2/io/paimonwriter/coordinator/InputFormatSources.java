package io.paimonwriter.coordinator;

import org.apache.flink.api.dag.Transformation;
import org.apache.flink.streaming.api.functions.source.legacy.InputFormatSourceFunction;
import org.apache.flink.streaming.api.transformations.LegacySourceTransformation;

/** Sources that read an input format, as SQL's VALUES does; Flink 2 has the class for them here. */
final class InputFormatSources {

    private InputFormatSources() {}

    /** Such a source ends, but in streaming mode Flink does not say so. */
    @SuppressWarnings("deprecation")
    static boolean contain(Transformation<?> source) {
        return source instanceof LegacySourceTransformation
                && ((LegacySourceTransformation<?>) source).getOperator().getUserFunction()
                        instanceof InputFormatSourceFunction;
    }
}
