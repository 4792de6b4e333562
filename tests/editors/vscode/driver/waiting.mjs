// Waiting for what is to be seen: everything here waits for a thing, nothing for a time.

const POLL_MS = 100;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What `test` returns once it is truthy; what it throws counts as not yet, unless the page is gone. */
export async function until(what, test, limit) {
  let said = "";
  for (const end = Date.now() + limit; ; ) {
    try {
      const value = await test();
      if (value) return value;
      said = "";
    } catch (error) {
      said = String(error.message ?? error).split("\n")[0];
      if (/has been closed|crashed/i.test(said)) throw error;
    }
    if (Date.now() > end) throw new Error(`waited ${limit / 1000} s for ${what}${said ? ` (${said})` : ""}`);
    await pause(POLL_MS);
  }
}

// Monaco draws blanks as no-break spaces, and some marks have no width.
export const plain = (text) => text.replace(/\u00a0/g, " ").replace(/[\u200b-\u200f\u202a-\u202e\ufeff]/g, "");

export const squash = (text) => plain(text).replace(/\s+/g, " ").trim();

export const holds = (text, part) =>
  part instanceof RegExp ? part.test(squash(text)) : squash(text).includes(squash(part));
