/**
 * Commits Apache Paimon append tables from the JobManager, through Flink's {@code
 * OperatorCoordinator}.
 *
 * <p>Jobs use {@link io.paimonwriter.coordinator.PaimonCoordinatedSinkBuilder} or catalogs of the
 * type {@value io.paimonwriter.coordinator.CoordinatedFlinkCatalogFactory#IDENTIFIER}, and the
 * table options of {@link io.paimonwriter.coordinator.CoordinatorOptions}. Everything else is
 * public for Flink alone.
 */
package io.paimonwriter.coordinator;
