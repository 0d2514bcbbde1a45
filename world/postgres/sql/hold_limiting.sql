-- Nobody admits until the end of the transaction, and who has decided before it decides anew.
UPDATE {schema}.limiting SET revision = CASE WHEN revision < 9000000000000000000 THEN revision + 1 ELSE 1 END
