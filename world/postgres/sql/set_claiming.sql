-- How long the transaction of a claim waits for a lock, and, where it gives runs alone ($1), that nobody waits for the disk. A crash of the server may
-- undo such a claim, and then its worker believes what nobody else does: that it owns the run. It writes nothing by that: its first commit, whatever it
-- is, locks the queue row and fails unless owner and claim are what it believes; and what is durable then has the claim before it in the server's log. No body
-- starts before that commit, so none starts twice. A lease that such a claim renewed counts as not renewed: the next one renews it again.
-- A task's claim is the start of its body: it waits for the disk.
SELECT set_config('lock_timeout', '3s', true),
  set_config('synchronous_commit', CASE WHEN $1::boolean THEN 'off' ELSE current_setting('synchronous_commit') END, true)
