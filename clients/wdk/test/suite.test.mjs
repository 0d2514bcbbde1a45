import { createTestSuite } from '@workflow/world-testing';
createTestSuite('@stepwell/world');
