-- The steps of Paimon's quick start, with append tables and the option in addition. WAREHOUSE is replaced.
CREATE CATALOG my_catalog WITH ('type' = 'paimon', 'warehouse' = 'WAREHOUSE');
USE CATALOG my_catalog;

CREATE TEMPORARY TABLE word_table (word STRING)
WITH ('connector' = 'datagen', 'fields.word.length' = '1', 'number-of-rows' = '1234');

SET 'table.dml-sync' = 'true';
SET 'execution.checkpointing.interval' = '1 s';

-- Untouched: Paimon's own sink.
CREATE TABLE word_count (word STRING PRIMARY KEY NOT ENFORCED, cnt BIGINT);
INSERT INTO word_count SELECT word, COUNT(*) FROM word_table GROUP BY word;

CREATE TABLE words (word STRING)
WITH ('write-only' = 'true', 'sink.committer-coordinator-operator.enabled' = 'true');
INSERT INTO words SELECT word FROM word_table;

RESET 'execution.checkpointing.interval';
SET 'execution.runtime-mode' = 'batch';

-- In batch it is the option alone.
CREATE TABLE more_words (word STRING);
INSERT INTO more_words /*+ OPTIONS('sink.committer-coordinator-operator.enabled' = 'true') */ SELECT * FROM words;

-- Compaction is Paimon's; the one that sorts writes through the same sink.
CALL sys.compact(`table` => 'default.words');
ALTER TABLE more_words SET ('sink.committer-coordinator-operator.enabled' = 'true');
CALL sys.compact(`table` => 'default.more_words', order_strategy => 'order', order_by => 'word');

SET 'sql-client.execution.result-mode' = 'tableau';
SELECT 'word_count' AS t, SUM(cnt) AS n FROM word_count
UNION ALL SELECT 'words', COUNT(*) FROM words
UNION ALL SELECT 'more_words', COUNT(*) FROM more_words;

-- A table that it cannot write: refused.
INSERT INTO word_count /*+ OPTIONS('sink.committer-coordinator-operator.enabled' = 'true') */ VALUES ('a', 1);
