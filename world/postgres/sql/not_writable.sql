-- Whether the server takes no writes, or the session's owner wants none, whatever this transaction says.
SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'
