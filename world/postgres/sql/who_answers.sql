-- Which process of the server answers, and how it isolates transactions that do not say.
SELECT pg_backend_pid(), current_setting('default_transaction_isolation')
