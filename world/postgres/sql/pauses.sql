-- The commits of a run that may have a pause, or the end of one, the first first. Index log_run.
SELECT seq, format, head, body, sum FROM {schema}.log
WHERE run = $1::bigint AND (strpos(head, '"run_paused"') > 0 OR strpos(head, '"run_resumed"') > 0 OR strpos(head, '"cancel_requested"') > 0 OR strpos(head, '"run_continued"') > 0) ORDER BY seq
