-- What starters have to know: what versions of workflows say, what live workers have (version 0), and what operators set (version -1). Index definitions_pkey.
SELECT d.workflow, d.version, d.says FROM {schema}.definitions d WHERE d.workflow = ANY($1::text[])
UNION ALL SELECT '', 0, w.classes FROM (SELECT DISTINCT classes FROM {schema}.workers WHERE ended IS NULL AND until > clock_timestamp()) w
UNION ALL SELECT s.name, -1, s.value::text FROM {schema}.settings s
