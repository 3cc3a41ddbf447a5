-- +goose Up
-- The newest migration that a program has to know to use the tables, and what the first program with it is called. Every
-- migration from here on states both: those of the last one of the version before. The columns stay for ever.
ALTER TABLE head ADD COLUMN needs bigint NOT NULL DEFAULT 0;
ALTER TABLE head ADD COLUMN needs_program text NOT NULL DEFAULT '';
