-- +goose Up
-- What a Secret was applied as was kept as a plain hash. It is applied once more, which writes nothing that is there
-- already, and is kept sealed then.
INSERT INTO work (cluster, object, target, generation, change, rank, due)
  SELECT a.cluster, o.id, o.target, o.generation, o.change, o.rank, 0 FROM applied a JOIN objects o ON o.id = a.object
  WHERE a.kind = 'Secret' AND a.grp = '' AND a.result <> '' AND o.revision <> 0
  ON CONFLICT (cluster, object) DO NOTHING;
UPDATE applied SET result = '' WHERE kind = 'Secret' AND grp = '';
UPDATE observed SET result = '' WHERE object IN (SELECT id FROM objects WHERE kind = 'Secret' AND grp = '');

-- Claims walk the rows of a change together, and pass over those that wait. Programs of the version before can do
-- without the index that this one replaces; with both, the databases take the wrong one.
CREATE INDEX work_turn ON work (cluster, due, change, rank);
DROP INDEX work_due;

-- When the last upkeep began: several programs do it once.
ALTER TABLE head ADD COLUMN upkeep bigint NOT NULL DEFAULT 0;

-- Who set or deleted targets, clusters, tokens and grants.
CREATE TABLE registry_log (
  number bigint PRIMARY KEY, at bigint NOT NULL, by_whom text NOT NULL, object text NOT NULL,
  value text NOT NULL, digest text NOT NULL) WITHOUT ROWID;
ALTER TABLE head ADD COLUMN registry_entry bigint NOT NULL DEFAULT 0;
ALTER TABLE head ADD COLUMN registry_digest text NOT NULL DEFAULT '';
