import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** What Node defines everywhere; the scripts are plain JavaScript and have no types to say so. */
const nodeGlobals = Object.fromEntries(
  [
    'AbortController',
    'AbortSignal',
    'Buffer',
    'URL',
    'URLSearchParams',
    '__dirname',
    '__filename',
    'clearInterval',
    'clearTimeout',
    'console',
    'exports',
    'fetch',
    'module',
    'performance',
    'process',
    'require',
    'setImmediate',
    'setInterval',
    'setTimeout',
  ].map((name) => [name, 'readonly']),
);

export default tseslint.config(
  {
    ignores: [
      'node_modules/',
      'target/',
      'dist/',
      'native/',
      '.build/',
      'kithdb-data/',
      'venv/',
      'src/engine/binding.d.ts',
      'src/client/generated.ts',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // A number in a template is as clear as its String(): the rule stays for everything else.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts', 'src/**/*.tsx', 'bench/**/*.mjs', 'scripts/**/*.mjs'],
    rules: { 'max-lines-per-function': ['error', 60] },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/config/**'],
    rules: {
      // Settings come from one table: nothing else reads the environment.
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Read settings from src/config.' },
      ],
    },
  },
  {
    files: ['src/http/**/*.ts'],
    rules: {
      // What is served is composed in src/routes.ts and src/startup: this floor knows no feature.
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^\\.\\./(?!engine/types(?:\\.js)?$)',
              message: 'src/http imports the types of the engine, and no other folder of src.',
            },
          ],
        },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ImportExpression:not([source.value=/^[a-z@]/])',
          message: 'src/http loads packages late, and no other folder of src.',
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // supertest and jest matchers hand out `any` by design.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['**/*.js', '**/*.cjs', '**/*.mjs'],
    languageOptions: { globals: nodeGlobals },
  },
  {
    files: ['**/*.js', '**/*.cjs'],
    languageOptions: { sourceType: 'commonjs' },
  },
);
