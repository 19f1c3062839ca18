package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Paimon's own quick start: nothing of this project is told of but the option. */
class SqlClientTest extends FlinkHomeTest {

    @Test
    void s01s100PaimonsQuickStartWithTheOptionAdded() throws Exception {
        String warehouse = directory.resolve("warehouse").toUri().toString();

        String output = runSqlClient(resource("/quick-start.sql").replace("WAREHOUSE", warehouse));

        for (String table : List.of("word_count", "words", "more_words")) {
            assertTrue(output.matches("(?s).*\\| +" + table + " \\| +1234 \\|.*"), output);
        }
        String jobs = insertJobs();
        assertOperators(
                jobs,
                "Global Committer",
                Map.of("word_count", true, "words", false, "more_words", false));
        assertOperators(
                jobs,
                "Coordinated Writer",
                Map.of("word_count", false, "words", true, "more_words", true));
        assertTrue(output.contains("it has the primary keys [word]"), output);
    }

    /** The operators of all INSERT jobs, as Flink's REST interface shows them. */
    private String insertJobs() throws Exception {
        Matcher ids = Pattern.compile("\"id\":\"([0-9a-f]{32})\"").matcher(ask("/jobs"));
        StringBuilder jobs = new StringBuilder();
        while (ids.find()) {
            String job = ask("/jobs/" + ids.group(1));
            if (job.contains("\"name\":\"insert-into")) {
                jobs.append(job);
            }
        }
        return jobs.toString();
    }

    private static void assertOperators(String jobs, String operator, Map<String, Boolean> tables) {
        tables.forEach(
                (table, expected) ->
                        assertEquals(
                                expected,
                                jobs.matches(".*" + operator + " : " + table + "\\b.*"),
                                operator + " : " + table + " in " + jobs));
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = SqlClientTest.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), UTF_8);
        }
    }
}
