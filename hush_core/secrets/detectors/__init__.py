"""What finds secrets: a file a kind, named after it; `base` says what a detector is, `context` what it is lent.

The kind `credentials` is in many files, which begin with `credential_`:

- **Order.** `scanner`: the pinned rules and ours. `rules`: which lines each of ours looks at, and in which order.
  `values`: what was found, value by value, and which of them are looked for elsewhere. `versions`: the next
  version of a file.
- **Tables.** `formats`: forms with a prefix. `places`: lines of tools' own files; `files` judges the values there.
- **Random values.** `names`: near a telling name; `blocks`: what a run is part of. `randomness`: whether a value
  looks random. `unnamed`: what shows that one without such a name is data.
- **Passwords.** `passwords`: assigned to a name. `near`: near one in any syntax. `given`: as words behind one.
  `columns`: in tables and SQL. `languages`: in sentences of other languages. `looks`: whether a person
  or a generator may have made a value.
- **Written otherwise.** `bytes`: byte by byte. `decoded`: in base64 and other codes. `joined`: in parts;
  `joints`: what is between the parts.
- **No secrets.** `public`: by their form. `stated`: by that and what is before them. `der`: by their encoding.
  `symbols`: what programs print. `catalogues`: translated texts, and settings. `words`: what the words around a
  value say.
"""
