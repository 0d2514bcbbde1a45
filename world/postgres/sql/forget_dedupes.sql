DELETE FROM {schema}.dedupes WHERE until <= clock_timestamp()
