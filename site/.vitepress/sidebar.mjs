/** The table of contents. A test compares it with the pages that there are. */

const page = (text, link) => ({ text, link });

export const sidebar = [
  {
    text: 'Start',
    items: [
      page('Quick start', '/quick-start'),
      page('Concepts', '/concepts'),
      page('What it has', '/features'),
      page('Glossary', '/glossary'),
    ],
  },
  {
    text: 'Guides',
    items: [
      page('Filters', '/guides/filters'),
      page('Explaining a search', '/guides/explaining-searches'),
      page('Tuning recall', '/guides/tuning-recall'),
      page('Keyword and hybrid search', '/guides/text'),
      page('A document and its chunks', '/guides/document-chunks'),
      page('Keeping a source in step', '/guides/sync'),
      page('Ids of your own', '/guides/string-ids'),
      page('Changing the model', '/guides/reembedding'),
      page('Sending points as Arrow', '/guides/arrow'),
      page('RAG with LangChain', '/guides/langchain'),
      page('For language models: MCP', '/guides/mcp'),
      page('RAG with LlamaIndex', '/guides/llama-index'),
      page('Embedded, and many processes', '/guides/embedded'),
      page('The JavaScript client', '/client'),
      page('Import and export', '/transfer'),
      page('Coming from Qdrant or Chroma', '/guides/migrating'),
      page('Moving the data', '/migrate'),
    ],
  },
  {
    text: 'Running it',
    items: [
      page('As a service', '/deployment'),
      page('Packages', '/packages'),
      page('Planning memory', '/guides/memory-planning'),
      page('What is never lost', '/durability'),
      page('Securing it', '/guides/securing'),
      page('Several tenants', '/guides/multi-tenancy'),
      page('Behind a proxy', '/guides/behind-a-proxy'),
      page('Backup and restore', '/guides/backup'),
      page('Clones and snapshots', '/snapshots'),
      page('The web console', '/guides/console'),
      page('Monitoring', '/guides/monitoring'),
      page('Tracing', '/guides/tracing'),
      page('Operations in full', '/operations'),
    ],
  },
  {
    text: 'Reference',
    items: [
      {
        ...page('HTTP', '/http/'),
        collapsed: true,
        // A group of endpoints each, as the description has them; npm run docs fails where one is not there.
        items: [
          page('System', '/http/system'),
          page('Authentication', '/http/authentication'),
          page('Collections', '/http/collections'),
          page('Points', '/http/points'),
          page('Indexes', '/http/indexes'),
          page('Search', '/http/search'),
          page('Snapshots', '/http/snapshots'),
          page('Not implemented', '/http/not-implemented'),
          page('Schemas', '/http/schemas'),
        ],
      },
      page('Command line', '/cli'),
      page('What a client can rely on', '/contract'),
      page('Differences from Qdrant', '/compatibility'),
      page('Programs for Qdrant', '/programs'),
      page('Qdrant’s own tests', '/qdrant-tests'),
      page('Universal query', '/query'),
      page('Recall', '/recall'),
      page('Projections', '/projection'),
      page('Formulas', '/formula'),
      page('Models with an endpoint', '/models'),
      page('Repeated calls', '/operation-ids'),
      page('Configuration', '/configuration'),
      page('Metrics', '/metrics'),
    ],
  },
  {
    text: 'Performance',
    items: [
      page('Figures', '/performance'),
      page('Figures of other operations', '/performance-of-operations'),
      page('Under attack and overload', '/load'),
      page('Attacks, then and now', '/attacks'),
      page('Notebook', '/notebook/'),
    ],
  },
  {
    text: 'Internals',
    collapsed: true,
    items: [
      page('Architecture', '/project/architecture'),
      page('Engine', '/engine'),
      page('Index: codes and graph', '/vector-index'),
      page('Formats on disk', '/formats'),
      page('Memory', '/memory'),
      page('Automatic indexes', '/automatic-indexes'),
      page('Embedding: design', '/embedding'),
      page('Cursors', '/cursors'),
      page('Residency of collections', '/residency'),
      page('String ids', '/string-ids'),
      page('Sync of a source', '/sync'),
      page('Re-embedding in place', '/reembedding'),
      page('Arrow IPC streams', '/arrow'),
      page('Event loops', '/event-loops'),
      page('Cluster: design', '/cluster'),
      page('Cluster: a billion vectors', '/cluster-capacity'),
      page('Order of requests', '/scheduling'),
      page('Order of writes', '/scheduling-writes'),
      page('Admission', '/admission'),
      page('Supervision', '/supervision'),
      page('Store of authentication', '/authentication'),
      page('Who the caller is', '/callers'),
      page('Planted faults', '/faults'),
      page('Decisions', '/decisions'),
      page('Documentation', '/documentation'),
    ],
  },
  {
    text: 'Project',
    collapsed: true,
    items: [
      page('Contributing', '/project/contributing'),
      page('Security', '/project/security'),
      page('Changelog', '/project/changelog'),
    ],
  },
];

/** The links of all entries. */
export function sidebarLinks(items = sidebar) {
  return items.flatMap(({ link, items: inner = [] }) => [...(link ? [link] : []), ...sidebarLinks(inner)]);
}
