-- A run that is to be claimed, and has not all its places, or those of rates that it has paid then. By key.
SELECT r.id FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.run = ?1 AND CASE WHEN json_valid(q.places) THEN q.has < json_array_length(q.places) OR q.rates > 0 END
