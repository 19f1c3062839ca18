package io.paimonwriter.coordinator.cluster;

import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Rows (id BIGINT, subtask INT, payload STRING) of a sequence, counted as they are made: each
 * reader leaves a file of lines "time in milliseconds, number of rows".
 */
final class MeteredRows implements GeneratorFunction<Long, RowData> {

    private static final long serialVersionUID = 1L;
    private static final long BUCKET_MILLIS = 250;

    private final String directory;
    private transient PrintWriter meter;
    private transient int subtask;
    private transient long bucket;
    private transient long count;

    MeteredRows(Path directory) throws IOException {
        this.directory = Files.createDirectories(directory).toString();
    }

    @Override
    public void open(SourceReaderContext context) throws Exception {
        subtask = context.getIndexOfSubtask();
        Path file = Files.createTempFile(Path.of(directory), "reader-" + subtask + "-", ".csv");
        meter = new PrintWriter(Files.newBufferedWriter(file), true);
    }

    @Override
    public RowData map(Long id) {
        long now = System.currentTimeMillis() / BUCKET_MILLIS;
        if (now != bucket) {
            if (count > 0) {
                meter.println(bucket * BUCKET_MILLIS + "," + count);
            }
            bucket = now;
            count = 0;
        }
        count++;
        return GenericRowData.of(id, subtask, StringData.fromString("payload of " + id));
    }

    /** The rows that all readers made, by second since {@code start}. */
    TreeMap<Long, Long> bySecond(long start) throws IOException {
        TreeMap<Long, Long> rows = new TreeMap<>();
        try (Stream<Path> files = Files.list(Path.of(directory))) {
            for (Path file : files.collect(Collectors.toList())) {
                try (BufferedReader lines = Files.newBufferedReader(file)) {
                    for (String line : lines.lines().collect(Collectors.toList())) {
                        List<String> fields = List.of(line.split(","));
                        long second = Math.floorDiv(Long.parseLong(fields.get(0)) - start, 1000L);
                        rows.merge(second, Long.parseLong(fields.get(1)), Long::sum);
                    }
                }
            }
        }
        return rows;
    }
}
