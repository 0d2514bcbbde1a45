-- What subscriptions and the cut come to.
SELECT revision, cut FROM spreading LIMIT 1
