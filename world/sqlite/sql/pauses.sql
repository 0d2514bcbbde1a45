-- The commits of a run that may have a pause, or the end of one, the last first. Index log_run.
SELECT seq, n, format, head, body, sum FROM log
WHERE run = ?1 AND (instr(head, '"run_paused"') OR instr(head, '"run_resumed"') OR instr(head, '"cancel_requested"') OR instr(head, '"run_continued"')) ORDER BY seq DESC
