-- What subscriptions and the cut come to.
SELECT revision, cut FROM {schema}.spreading WHERE key = 1
