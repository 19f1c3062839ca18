package io.paimonwriter.coordinator.job;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;

/** The log of this JVM, where cluster and tasks run as well, from here on until it is closed. */
final class CapturedLog implements AutoCloseable {

    private static final String COORDINATOR = "io.paimonwriter.coordinator";

    private final Queue<String> lines = new ConcurrentLinkedQueue<>();
    private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
    private final AbstractAppender appender =
            new AbstractAppender("captured", null, null, false, Property.EMPTY_ARRAY) {
                @Override
                public void append(LogEvent event) {
                    lines.add(
                            String.format(
                                    "%s %s: %s",
                                    event.getLevel(),
                                    event.getLoggerName(),
                                    event.getMessage().getFormattedMessage()));
                }
            };

    private CapturedLog() {
        appender.start();
        context.getConfiguration().getRootLogger().addAppender(appender, null, null);
        context.updateLoggers();
    }

    static CapturedLog begin() {
        return new CapturedLog();
    }

    /** As an operator does while the cluster runs. */
    void setCoordinatorLevel(Level level) {
        Configurator.setLevel(COORDINATOR, level);
    }

    /** Level and text of the lines that contain this, of any logger. */
    List<String> containing(String part) {
        return lines.stream().filter(line -> line.contains(part)).collect(Collectors.toList());
    }

    /** Level and text of what coordinators and writers have said of this table. */
    List<String> of(AppendTable table) {
        return containing(table.name()).stream()
                .filter(line -> line.contains(" " + COORDINATOR))
                .map(line -> line.replaceFirst(" " + COORDINATOR + "[.\\w]*:", ""))
                .collect(Collectors.toList());
    }

    @Override
    public void close() {
        setCoordinatorLevel(Level.INFO);
        context.getConfiguration().getRootLogger().removeAppender("captured");
        context.updateLoggers();
    }
}
