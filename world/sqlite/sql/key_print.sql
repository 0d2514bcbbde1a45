-- The fingerprint that the ID of a key is bound to. By key.
SELECT print FROM keys WHERE id = ?1
