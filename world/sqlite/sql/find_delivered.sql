-- What is known of a delivery. Primary key.
SELECT print, late IS NOT NULL FROM delivered WHERE run = ?1 AND key = ?2
