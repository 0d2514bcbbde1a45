-- What subscriptions and the cut come to.
SELECT revision, cut FROM {schema}.spreading LIMIT 1
