-- Whether a message of a queue's priority is out at ?3, and whether one that has places could have been received since ?4; of each it looks at 1,000.
-- Index messages_ready.
SELECT EXISTS (SELECT 1 FROM (SELECT held FROM messages WHERE queue = ?1 AND priority = ?2 AND ready_us > ?3 ORDER BY ready_us LIMIT 1000) WHERE held),
  EXISTS (SELECT 1 FROM (SELECT has FROM messages WHERE queue = ?1 AND priority = ?2 AND ready_us <= ?4 ORDER BY ready_us DESC LIMIT 1000) WHERE has > 0)
