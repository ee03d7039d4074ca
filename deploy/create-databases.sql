-- Run once, by the database's first start.
CREATE DATABASE prefect OWNER hush;
CREATE DATABASE mlflow OWNER hush;
