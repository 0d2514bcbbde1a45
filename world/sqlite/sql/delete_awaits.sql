-- Those that waited for a run have their answer.
DELETE FROM awaits WHERE target = ?1
