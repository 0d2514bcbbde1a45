-- Mail came for a run that nobody owns. By key.
UPDATE queue SET mail_us = coalesce(mail_us, ?2), cancel = cancel OR ?3 WHERE run = ?1 AND owner IS NULL
