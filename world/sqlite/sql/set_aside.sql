-- A publication goes to nobody.
UPDATE due SET due_us = 9223372036854775807, error = ?2 WHERE publication = ?1
