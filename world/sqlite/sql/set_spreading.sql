-- Subscriptions or the cut have changed.
UPDATE spreading SET revision = ?1, cut = ?2
