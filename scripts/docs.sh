#!/usr/bin/env bash
# Builds the documents as a searchable site with mdBook, and checks all links in it.
#
#   scripts/docs.sh DIRECTORY
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

site=$1
rm -rf "$site"
mkdir -p "$site/src"
# mdBook wants all pages below one directory, with its list of them at the top, and copies whatever else lies there: so
# it gets copies of what the pages show and link to.
find README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE redis.conf.example docs examples clients \
    \( -name node_modules -o -name __pycache__ -o -name '.*' -o -name test -o -name tests -o -name src \) -prune -o -type f -print0 |
    xargs -0 cp --parents -t "$site/src"
sed -E 's,\]\(,](docs/,; s,\]\(docs/\.\./,](,' docs/SUMMARY.md >"$site/src/SUMMARY.md"
mv "$site/src/docs/book.toml" "$site/src/docs/site.css" "$site/"
mkdir "$site/docs" && mv "$site/site.css" "$site/docs/"
mdbook build "$site"
python3 scripts/check-links.py "$site/book"
echo "$site/book/index.html"
