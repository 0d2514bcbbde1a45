-- Ends a subscription.
DELETE FROM subscriptions WHERE name = ?1
