-- One process at a time changes the schema; the others wait until the end of its transaction. Readers do not.
LOCK TABLE {schema}.versions IN EXCLUSIVE MODE
