UPDATE listens SET back_us = NULL WHERE run = ?1 AND wait = ?2
