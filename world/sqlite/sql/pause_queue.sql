UPDATE queues SET paused = ?2 WHERE name = ?1
