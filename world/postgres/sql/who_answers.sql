-- Which process of the server answers, how it isolates transactions that do not say, and its time.
SELECT pg_backend_pid(), current_setting('default_transaction_isolation'), clock_timestamp()
