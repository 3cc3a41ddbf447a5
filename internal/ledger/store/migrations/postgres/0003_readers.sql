-- +goose Up
CREATE TABLE readers (
  target text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, instance text COLLATE "C" NOT NULL,
  seen bigint NOT NULL,
  PRIMARY KEY (target, name));

CREATE TABLE waits (
  object text COLLATE "C" NOT NULL, cluster text COLLATE "C" NOT NULL, generation bigint NOT NULL, words text NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (object, cluster));

ALTER TABLE generations ADD COLUMN live_since bigint NOT NULL DEFAULT 0;
