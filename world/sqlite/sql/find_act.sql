-- Whether a delivery ID was sent as an act to an earlier release.
SELECT 1 FROM acts WHERE run = ?1 AND delivery = ?2
