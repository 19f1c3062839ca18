package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.table.api.ValidationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.Properties;

class SupportedPairTest {

    @Test
    void theJarRunsOnThePairThatItIsFor() {
        SupportedPair.check();
    }

    @ParameterizedTest
    @CsvSource({"2.0.2, 1.4.2", "2.0.0, 1.4.0", "2.0-SNAPSHOT, 1.4.2", "2.0.2,"})
    void otherReleasesOfTheSameLinesAreFine(String flink, String paimon) {
        SupportedPair.check(built(), flink, paimon);
    }

    @ParameterizedTest
    @CsvSource({"1.20.4, 1.4.2", "2.0.2, 2.0.0", "2.1.1, 1.3.0"})
    void anotherLineIsRefusedWithTheJarsToTake(String flink, String paimon) {
        ValidationException refusal =
                assertThrows(
                        ValidationException.class,
                        () -> SupportedPair.check(built(), flink, paimon));
        for (String part :
                List.of(
                        "for Flink 2.0 and Paimon 1.4",
                        "found are Flink " + flink + " and Paimon " + paimon,
                        "flink-2.0-paimon-2.0")) {
            assertTrue(refusal.getMessage().contains(part), refusal.getMessage());
        }
    }

    private static Properties built() {
        Properties built = new Properties();
        built.setProperty("flink", "2.0.2");
        built.setProperty("paimon", "1.4.2");
        built.setProperty("pairs", "flink-2.0-paimon-1.4, flink-2.0-paimon-2.0");
        return built;
    }
}
